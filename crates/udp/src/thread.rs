//! Name, class, priority and cores of the calling thread, and what the system really granted.
use std::ffi::CString;
use std::fmt;
use std::io;
use std::mem;
use std::time::Duration;

use libc::c_int;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::Pid;

/// Longest name that the system keeps, in bytes.
const NAME: usize = 15;

/// SCHED_DEADLINE, as `sched_attr` has it.
const DEADLINE: u32 = 6;
/// The size of what the system is told of scheduling.
const SIZE: u32 = size_of::<libc::sched_attr>() as u32;

/// How the system chooses when a thread runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheduling {
    /// In turn with others (SCHED_OTHER).
    Normal,
    /// Before all normal threads and those of lower priority, until it waits (SCHED_FIFO).
    RealTime {
        /// 1 to 99.
        priority: u8,
    },
    /// The same, but in turn with others of its priority (SCHED_RR).
    RoundRobin {
        /// 1 to 99.
        priority: u8,
    },
    /// Before all of the others, for a time of each period (SCHED_DEADLINE).
    Deadline {
        /// Processor time in each period; in nanoseconds at least 1,024 for the system.
        runtime: Duration,
        /// The period, which is the deadline, too.
        period: Duration,
    },
    /// A policy that this crate does not set, by the system's number.
    Other(i32),
}

/// The system did not do what was asked.
#[derive(Debug)]
#[non_exhaustive]
pub enum ThreadError {
    /// A name with a zero byte.
    Name,
    /// Real-time priorities are 1 to 99.
    Priority(u8),
    /// The process may not have this priority.
    PriorityNotPermitted {
        /// What was asked for.
        asked: u8,
        /// What it may have (RLIMIT_RTPRIO); 0 is none.
        limit: u64,
    },
    /// The process may not have the class deadline, or its thread is kept on cores that are not all of its root domain.
    DeadlineNotPermitted {
        /// The cores on which the thread is kept.
        cores: Vec<usize>,
    },
    /// The cores have not so much time left for the class deadline.
    DeadlineTime {
        /// What was asked for in each period.
        runtime: Duration,
        /// The period.
        period: Duration,
    },
    /// No such runtime and period.
    DeadlineTimes {
        /// What was asked for in each period.
        runtime: Duration,
        /// The period.
        period: Duration,
    },
    /// None of these cores can be had: they do not exist, are off, or are not among those of the process's cpuset.
    Cores(Vec<usize>),
    /// The system refused for another reason.
    Refused {
        /// The call.
        step: &'static str,
        /// What it said.
        error: io::Error,
    },
}

/// Names the calling thread, as `top -H` shows it. Gives back what the system kept: the first 15 bytes, cut where a character ends.
///
/// # Errors
///
/// [`ThreadError::Name`], or the system's error.
pub fn set_name(name: &str) -> Result<String, ThreadError> {
    let kept = CString::new(&name[..name.floor_char_boundary(NAME)]).map_err(|_| ThreadError::Name)?;
    prctl::set_name(&kept).map_err(refused("PR_SET_NAME"))?;
    let kept = prctl::get_name().map_err(refused("PR_GET_NAME"))?;
    Ok(kept.to_string_lossy().into_owned())
}

/// Lets the calling thread run before all normal ones (SCHED_FIFO). A thread of real-time priority that never waits takes its
/// core from everything else.
///
/// # Errors
///
/// [`ThreadError::PriorityNotPermitted`] if the process has neither the capability CAP_SYS_NICE nor a limit that allows it;
/// [`ThreadError::Priority`] for 0 and above 99.
pub fn set_real_time(priority: u8) -> Result<Scheduling, ThreadError> {
    set_priority(libc::SCHED_FIFO, priority)
}

/// Lets the calling thread run as the system is asked to; gives back what it granted. Cores are to be set before: the system changes those of a
/// thread of the class deadline to others only if these are all of its root domain.
///
/// Threads that a thread of the class deadline starts are normal ones.
///
/// # Errors
///
/// Those of [`set_real_time`] for priorities. For the class deadline: [`ThreadError::DeadlineNotPermitted`] without the capability
/// CAP_SYS_NICE, or if the thread is kept on some of the cores of its root domain (see cpuset partitions); [`ThreadError::DeadlineTime`] if
/// other threads of the class have the time; [`ThreadError::DeadlineTimes`] if the system knows no such times. [`Scheduling::Other`] cannot be
/// set.
pub fn set_scheduling(asked: Scheduling) -> Result<Scheduling, ThreadError> {
    match asked {
        Scheduling::Normal => set_normal(),
        Scheduling::RealTime { priority } => set_real_time(priority),
        Scheduling::RoundRobin { priority } => set_priority(libc::SCHED_RR, priority),
        Scheduling::Deadline { runtime, period } => set_deadline(runtime, period),
        Scheduling::Other(_) => {
            let error = io::Error::from(io::ErrorKind::Unsupported);
            Err(ThreadError::Refused { step: "sched_setattr", error })
        }
    }
}

fn set_priority(policy: c_int, priority: u8) -> Result<Scheduling, ThreadError> {
    if !(1..=99).contains(&priority) {
        return Err(ThreadError::Priority(priority));
    }
    schedule(policy, priority.into()).map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM) => ThreadError::PriorityNotPermitted {
            asked: priority,
            limit: getrlimit(Resource::RLIMIT_RTPRIO).map_or(0, |(soft, _)| soft),
        },
        _ => ThreadError::Refused { step: "pthread_setschedparam", error },
    })?;
    scheduling()
}

/// Takes [`set_real_time`] back.
///
/// # Errors
///
/// The system's error.
pub fn set_normal() -> Result<Scheduling, ThreadError> {
    schedule(libc::SCHED_OTHER, 0)
        .map_err(|error| ThreadError::Refused { step: "pthread_setschedparam", error })?;
    scheduling()
}

fn set_deadline(runtime: Duration, period: Duration) -> Result<Scheduling, ThreadError> {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let asked = libc::sched_attr {
        sched_policy: DEADLINE,
        // The system refuses threads of threads of this class otherwise.
        sched_flags: 1, // SCHED_FLAG_RESET_ON_FORK
        sched_runtime: nanos(runtime),
        sched_deadline: nanos(period),
        sched_period: nanos(period),
        ..attributes()
    };
    // SAFETY: the pointer is to a value of the size that it says, which lives during the call; thread 0 is the calling one.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const asked, 0) };
    if done != 0 {
        let error = io::Error::last_os_error();
        return Err(match error.raw_os_error() {
            Some(libc::EPERM) => ThreadError::DeadlineNotPermitted { cores: cores().unwrap_or_default() },
            Some(libc::EBUSY) => ThreadError::DeadlineTime { runtime, period },
            Some(libc::EINVAL) => ThreadError::DeadlineTimes { runtime, period },
            _ => ThreadError::Refused { step: "sched_setattr", error },
        });
    }
    scheduling()
}

/// What says nothing yet.
fn attributes() -> libc::sched_attr {
    // SAFETY: all zeros is a `sched_attr`, which has integers only.
    let nothing: libc::sched_attr = unsafe { mem::zeroed() };
    libc::sched_attr { size: SIZE, ..nothing }
}

/// How the calling thread is scheduled.
///
/// # Errors
///
/// The system's error.
pub fn scheduling() -> Result<Scheduling, ThreadError> {
    let mut granted = attributes();
    // SAFETY: the pointer is to a value of the size that is said, which lives during the call; thread 0 is the calling one.
    let done = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut granted, SIZE, 0) };
    if done == 0 && granted.sched_policy == DEADLINE {
        return Ok(Scheduling::Deadline {
            runtime: Duration::from_nanos(granted.sched_runtime),
            period: Duration::from_nanos(granted.sched_period),
        });
    }
    let mut policy: c_int = 0;
    // SAFETY: all zeros is a `sched_param`.
    let mut parameters: libc::sched_param = unsafe { mem::zeroed() };
    // SAFETY: a thread's own handle is valid, and both pointers are to values that live during the call.
    let code =
        unsafe { libc::pthread_getschedparam(libc::pthread_self(), &raw mut policy, &raw mut parameters) };
    if code != 0 {
        let error = io::Error::from_raw_os_error(code);
        return Err(ThreadError::Refused { step: "pthread_getschedparam", error });
    }
    Ok(match (policy, u8::try_from(parameters.sched_priority)) {
        (libc::SCHED_OTHER, _) => Scheduling::Normal,
        (libc::SCHED_FIFO, Ok(priority)) => Scheduling::RealTime { priority },
        (libc::SCHED_RR, Ok(priority)) => Scheduling::RoundRobin { priority },
        (other, _) => Scheduling::Other(other),
    })
}

/// Keeps the calling thread, and threads that it starts later, on these cores (numbered from 0). Gives back those that the
/// system granted: a cpuset of the process may take some of them away.
///
/// # Errors
///
/// [`ThreadError::Cores`] if none of them can be had.
pub fn set_cores(wanted: &[usize]) -> Result<Vec<usize>, ThreadError> {
    let none = || ThreadError::Cores(wanted.to_vec());
    let mut set = CpuSet::new();
    for core in wanted {
        set.set(*core).map_err(|_| none())?;
    }
    sched_setaffinity(Pid::from_raw(0), &set).map_err(|error| match error {
        nix::Error::EINVAL => none(),
        error => refused("sched_setaffinity")(error),
    })?;
    cores()
}

/// The cores that the calling thread may run on.
///
/// # Errors
///
/// The system's error.
pub fn cores() -> Result<Vec<usize>, ThreadError> {
    let set = sched_getaffinity(Pid::from_raw(0)).map_err(refused("sched_getaffinity"))?;
    Ok((0..CpuSet::count()).filter(|core| set.is_set(*core) == Ok(true)).collect())
}

impl fmt::Display for ThreadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("a thread's name may not hold a zero byte"),
            Self::Priority(priority) => {
                write!(f, "real-time priority {priority}: give one from 1 to 99")
            }
            Self::PriorityNotPermitted { asked, limit } => write!(
                f,
                "real-time priority {asked} is not permitted, the limit is {limit}: give the program the capability \
                 CAP_SYS_NICE (setcap cap_sys_nice+ep FILE), or its user a larger limit (rtprio in \
                 /etc/security/limits.conf, LimitRTPRIO= of a systemd service)"
            ),
            Self::DeadlineNotPermitted { cores } => write!(
                f,
                "the class deadline is not permitted on the cores {cores:?}: the program needs the capability CAP_SYS_NICE (setcap \
                 cap_sys_nice+ep FILE), and a thread of this class is not kept on some cores of several; a control group that is a \
                 partition of exactly these cores does that (version 2: cpuset.cpus, then root in cpuset.cpus.partition)"
            ),
            Self::DeadlineTime { runtime, period } => write!(
                f,
                "the cores have no {runtime:?} in each {period:?} left for the class deadline: its threads get what \
                 kernel.sched_rt_runtime_us leaves them in each kernel.sched_rt_period_us; ask for less, or use other cores"
            ),
            Self::DeadlineTimes { runtime, period } => write!(
                f,
                "the system has no class deadline with {runtime:?} in each {period:?}: 1024 ns is the least runtime, and periods are \
                 between kernel.sched_deadline_period_min_us and kernel.sched_deadline_period_max_us"
            ),
            Self::Cores(cores) => write!(
                f,
                "none of the cores {cores:?} can be had: the command nproc says how many there are, and \
                 /proc/self/status at Cpus_allowed_list which of them this process may use"
            ),
            Self::Refused { step, error } => write!(f, "{step}: {error}"),
        }
    }
}

impl std::error::Error for ThreadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused { error, .. } => Some(error),
            _ => None,
        }
    }
}

fn schedule(policy: c_int, priority: c_int) -> io::Result<()> {
    // SAFETY: all zeros is a `sched_param`.
    let mut parameters: libc::sched_param = unsafe { mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: a thread's own handle is valid, and the pointer is to a value that lives during the call.
    match unsafe { libc::pthread_setschedparam(libc::pthread_self(), policy, &raw const parameters) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

fn refused(step: &'static str) -> impl Fn(nix::Error) -> ThreadError {
    move |error| ThreadError::Refused { step, error: error.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes stay in a thread of their own.
    fn aside(test: impl FnOnce() + Send) {
        std::thread::scope(|scope| scope.spawn(test).join()).unwrap();
    }

    /// A little time of the class deadline.
    const LITTLE: Scheduling =
        Scheduling::Deadline { runtime: Duration::from_micros(20), period: Duration::from_millis(20) };

    /// Says what this system does not grant here. The error has a reason that is the system's own, and says what to do about it.
    fn passed_over(error: &ThreadError) {
        let told = error.to_string();
        let is_reason = match error {
            ThreadError::PriorityNotPermitted { .. } | ThreadError::DeadlineNotPermitted { .. } => {
                told.contains("CAP_SYS_NICE")
            }
            // Other threads of the class have the time.
            ThreadError::DeadlineTime { .. } => told.contains("ask for less"),
            // There are systems, and sandboxes, without the call.
            ThreadError::Refused { error, .. } => error.raw_os_error() == Some(libc::ENOSYS),
            _ => false,
        };
        assert!(is_reason, "{told}");
        eprintln!("passed over: {told}");
    }

    /// Whether a thread that is not kept on some cores gets the class deadline; where it does not, it says so.
    fn may_have_a_deadline() -> bool {
        let ask = || set_scheduling(LITTLE).inspect_err(passed_over).is_ok();
        std::thread::scope(|scope| scope.spawn(ask).join()).unwrap()
    }

    #[test]
    fn names_are_cut_where_a_character_ends() {
        aside(|| {
            assert_eq!(set_name("receive").unwrap(), "receive");
            assert_eq!(set_name("12345678901234567").unwrap(), "123456789012345");
            assert_eq!(set_name("12345678901234\u{e9}").unwrap(), "12345678901234");
            assert!(matches!(set_name("a\0b"), Err(ThreadError::Name)));
        });
    }

    #[test]
    fn cores_are_what_was_granted() {
        aside(|| {
            let first = cores().unwrap()[0];
            assert_eq!(set_cores(&[first]).unwrap(), [first]);
            assert_eq!(cores().unwrap(), [first]);
            // A core that does not exist is left out; alone it is an error.
            assert_eq!(set_cores(&[first, 1_000]).unwrap(), [first]);
            let error = set_cores(&[1_000]).unwrap_err();
            assert!(error.to_string().contains("[1000]"), "{error}");
            assert!(matches!(set_cores(&[usize::MAX]), Err(ThreadError::Cores(_))));
            assert!(matches!(set_cores(&[]), Err(ThreadError::Cores(_))));
        });
    }

    #[test]
    fn priorities_are_granted_or_the_error_says_what_to_do() {
        aside(|| {
            assert_eq!(scheduling().unwrap(), Scheduling::Normal);
            match set_real_time(1) {
                Ok(granted) => {
                    assert_eq!(granted, Scheduling::RealTime { priority: 1 });
                    assert_eq!(set_normal().unwrap(), Scheduling::Normal);
                }
                Err(error) => passed_over(&error),
            }
            assert!(matches!(set_real_time(0), Err(ThreadError::Priority(0))));
            assert!(matches!(set_real_time(100), Err(ThreadError::Priority(100))));
        });
    }

    #[test]
    fn round_robin_and_deadline_are_granted_or_the_error_says_what_to_do() {
        aside(|| match set_scheduling(Scheduling::RoundRobin { priority: 2 }) {
            Ok(granted) => {
                assert_eq!(granted, Scheduling::RoundRobin { priority: 2 });
                assert_eq!(set_scheduling(Scheduling::Normal).unwrap(), Scheduling::Normal);
            }
            Err(error) => passed_over(&error),
        });
        aside(|| match set_scheduling(LITTLE) {
            Ok(granted) => {
                assert_eq!(granted, LITTLE);
                // What it starts is normal; the system refuses to start it otherwise.
                std::thread::scope(|scope| {
                    scope.spawn(|| assert_eq!(scheduling().unwrap(), Scheduling::Normal)).join()
                })
                .unwrap();
            }
            Err(error) => {
                passed_over(&error);
                assert_eq!(scheduling().unwrap(), Scheduling::Normal);
            }
        });
        aside(|| {
            let short =
                Scheduling::Deadline { runtime: Duration::from_nanos(10), period: Duration::from_millis(1) };
            let error = set_scheduling(short).unwrap_err();
            if !matches!(error, ThreadError::DeadlineTimes { .. }) {
                return passed_over(&error);
            }
            let told = error.to_string();
            assert!(told.contains("1024 ns is the least runtime"), "{told}");
        });
    }

    /// The system keeps no thread of the class deadline on some of the cores of a root domain. It does where a core is a root domain of its own
    /// (the kernel's `isolcpus`, partitions of cpusets), or where the class has no limit (`sched_rt_runtime_us` is -1).
    #[test]
    fn some_cores_of_several_are_refused_to_the_class_deadline() {
        aside(|| {
            let all = cores().unwrap();
            if all.len() < 2 {
                eprintln!("passed over: one core alone is all of them");
                return;
            }
            if !may_have_a_deadline() {
                return;
            }
            set_cores(&all[..1]).unwrap();
            match set_scheduling(LITTLE) {
                Err(ThreadError::DeadlineNotPermitted { cores }) => {
                    assert_eq!(cores, all[..1]);
                    assert_eq!(scheduling().unwrap(), Scheduling::Normal);
                }
                Ok(granted) => {
                    assert_eq!(granted, LITTLE);
                    eprintln!("passed over: core {} is a root domain, or the class has no limit", all[0]);
                }
                // The core is a root domain, and its time is used.
                Err(error) => passed_over(&error),
            }
        });
    }
}

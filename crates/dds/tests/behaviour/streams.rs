//! Samples as a stream: on an executor of one page, in virtual time, and on threads.
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use dds::{DataReader, SampleStream};
use futures_core::Stream;

use crate::fixture::*;
use crate::loft::Loft;
use crate::threads::must_end;

/// Counts how often its task is woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Lets the thread go on that runs the task.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread, which sleeps until it is woken.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

async fn next(stream: &mut SampleStream<Reading>) -> Option<Reading> {
    poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await
}

fn endpoints(
    here: &dds::DomainParticipant,
    there: &dds::DomainParticipant,
) -> (dds::DataWriter<Reading>, DataReader<Reading>) {
    let writer = here.writer::<Reading>("Readings").keep_all().create().unwrap();
    (writer, there.reader::<Reading>("Readings").reliable().keep_all().create().unwrap())
}

#[test]
fn a_task_is_woken_once_for_what_comes_and_not_for_what_it_takes() {
    let (mut desk, here, there) = two();
    let (writer, reader) = endpoints(&here, &there);
    settle(&mut desk);
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut context = Context::from_waker(&waker);
    let mut stream = reader.stream();
    let mut poll = |stream: &mut SampleStream<Reading>| Pin::new(stream).poll_next(&mut context);
    assert_eq!(poll(&mut stream), Poll::Pending);
    for value in 1..3 {
        writer.write(&reading(1, value)).unwrap();
    }
    settle(&mut desk);
    assert_eq!(count.0.load(SeqCst), 1);
    assert_eq!(poll(&mut stream), Poll::Ready(Some(reading(1, 1))));
    assert_eq!(poll(&mut stream), Poll::Ready(Some(reading(1, 2))));
    assert_eq!(count.0.load(SeqCst), 1);
    assert_eq!(poll(&mut stream), Poll::Pending);
    writer.dispose(&reading(1, 0)).unwrap();
    settle(&mut desk);
    assert_eq!(count.0.load(SeqCst), 2);
    assert_eq!(poll(&mut stream), Poll::Pending, "the end of an instance has no data");
    writer.write(&reading(1, 3)).unwrap();
    settle(&mut desk);
    let mut stream = stream.with_info();
    let Poll::Ready(Some((sample, info))) = Pin::new(&mut stream).poll_next(&mut context) else { panic!() };
    assert_eq!((sample, info.valid_data), (reading(1, 3), true));
    let before = Arc::strong_count(&count);
    assert_eq!(Pin::new(&mut stream).poll_next(&mut context), Poll::Pending);
    drop(stream);
    assert_eq!(Arc::strong_count(&count), before, "a stream that is gone keeps no task");
    writer.write(&reading(1, 4)).unwrap();
    settle(&mut desk);
    assert_eq!(values(&reader), [4]);
}

#[test]
fn a_stream_ends_with_its_reader() {
    let (mut desk, here, there) = two();
    let (_, reader) = endpoints(&here, &there);
    settle(&mut desk);
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut stream = reader.stream();
    assert_eq!(Pin::new(&mut stream).poll_next(&mut Context::from_waker(&waker)), Poll::Pending);
    reader.get_subscriber().delete_datareader(&reader).unwrap();
    assert!(count.0.load(SeqCst) > 0);
    assert_eq!(Pin::new(&mut stream).poll_next(&mut Context::from_waker(&waker)), Poll::Ready(None));
}

/// The waker of a task that is dropped where it is woken, with the stream that it holds, as executors do with tasks that are over.
struct Last(std::sync::Mutex<Option<SampleStream<Reading>>>);

impl Wake for Last {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().unwrap().take());
    }
}

#[test]
fn a_waker_may_end_its_stream() {
    must_end(|| {
        let (mut desk, here, there) = two();
        let (writer, reader) = endpoints(&here, &there);
        settle(&mut desk);
        let last = Arc::new(Last(std::sync::Mutex::default()));
        let waker = Waker::from(Arc::clone(&last));
        let mut stream = reader.stream();
        assert_eq!(Pin::new(&mut stream).poll_next(&mut Context::from_waker(&waker)), Poll::Pending);
        *last.0.lock().unwrap() = Some(stream);
        writer.write(&reading(1, 1)).unwrap();
        settle(&mut desk);
        assert!(last.0.lock().unwrap().is_none());
        assert_eq!(values(&reader), [1]);
    });
}

#[test]
fn no_sample_is_slept_through_by_a_task() {
    must_end(|| {
        let loft = Loft::new(true);
        let (here, there) = (loft.participant(), loft.participant());
        let (ping, pinged) = endpoints(&here, &there);
        let pong = there.writer::<Reading>("Answers").keep_all().create().unwrap();
        let ponged = here.reader::<Reading>("Answers").reliable().keep_all().create().unwrap();
        ping.wait_for_readers(1, std::time::Duration::MAX).unwrap();
        pong.wait_for_readers(1, std::time::Duration::MAX).unwrap();
        let answering = thread::spawn(move || {
            block_on(async {
                let mut pings = pinged.stream();
                while let Some(sample) = next(&mut pings).await {
                    pong.write(&sample).unwrap();
                }
            });
        });
        block_on(async {
            let mut pongs = ponged.stream();
            for value in 0..3_000 {
                ping.write(&reading(1, value)).unwrap();
                assert_eq!(next(&mut pongs).await, Some(reading(1, value)));
            }
        });
        dds::DomainParticipantFactory::get_instance().delete_participant(&there).unwrap();
        answering.join().unwrap();
    });
}

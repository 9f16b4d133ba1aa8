//! Two programs and what they say to each other.
use crate::namespace::alone;
use crate::program::Program;

#[test]
fn samples_arrive_in_order_and_their_end_too() {
    alone(|| {
        let mut subscriber = Program::start("-S -t Square -x 2 -k 0 --read-period 10");
        subscriber.expect("Create topic: Square");
        subscriber.expect("Create reader for topic: Square");
        let mut publisher =
            Program::start("-P -t Square -x 2 -k 0 -c RED -z 0 --write-period 5 --final-instance-state d");
        publisher.expect("Create topic: Square");
        publisher.expect("Create writer for topic: Square color: RED");
        publisher.expect(
            "on_publication_matched() topic: 'Square'  type: 'ShapeType' : matched readers 1 (change = 1)",
        );
        subscriber.expect(
            "on_subscription_matched() topic: 'Square'  type: 'ShapeType' : matched writers 1 (change = 1)",
        );
        let (color, first, _) = subscriber.shape();
        assert_eq!(color, "RED");
        for size in first + 1..first + 200 {
            assert_eq!(subscriber.shape().1, size);
        }
        publisher.interrupt();
        subscriber.expect("Square     RED        NOT_ALIVE_DISPOSED_INSTANCE_STATE");
        publisher.expect("Done.");
        assert_eq!(publisher.end(), 0);
    });
}

#[test]
fn unregistered_instances_have_no_writers() {
    instances_lose_their_writer("--final-instance-state u");
}

#[test]
fn instances_that_nobody_ended_have_no_writers() {
    instances_lose_their_writer("");
}

/// The publisher is interrupted: nothing is disposed.
fn instances_lose_their_writer(option: &str) {
    alone(|| {
        let mut subscriber = Program::start("-S -t Square -k 0 --read-period 10");
        subscriber.expect("Create reader for topic: Square");
        let publisher =
            Program::start(&format!("-P -t Square -k 0 -c RED --num-instances 3 --write-period 5 {option}"));
        for color in ["RED ", "RED1", "RED2"] {
            subscriber.find(|line| line.contains(color));
        }
        publisher.interrupt();
        let mut ended: Vec<String> =
            (0..3).map(|_| subscriber.find(|line| line.contains("NOT_ALIVE"))).collect();
        ended.sort();
        assert_eq!(
            ended,
            [
                "Square     RED        NOT_ALIVE_NO_WRITERS_INSTANCE_STATE",
                "Square     RED1       NOT_ALIVE_NO_WRITERS_INSTANCE_STATE",
                "Square     RED2       NOT_ALIVE_NO_WRITERS_INSTANCE_STATE",
            ]
        );
    });
}

#[test]
fn qos_that_does_not_fit_is_told_at_both_sides() {
    alone(|| {
        let mut subscriber = Program::start("-S -t Square -r");
        let mut publisher = Program::start("-P -t Square -b");
        publisher
            .expect("on_offered_incompatible_qos() topic: 'Square'  type: 'ShapeType' : 11 (RELIABILITY)");
        subscriber
            .expect("on_requested_incompatible_qos() topic: 'Square'  type: 'ShapeType' : 11 (RELIABILITY)");
        let mut other = Program::start("-S -t Square -b -x 2");
        other.expect(
            "on_requested_incompatible_qos() topic: 'Square'  type: 'ShapeType' : 23 (DATA_REPRESENTATION)",
        );
        publisher.expect(
            "on_offered_incompatible_qos() topic: 'Square'  type: 'ShapeType' : 23 (DATA_REPRESENTATION)",
        );
    });
}

#[test]
fn a_missed_deadline_is_told_at_both_sides() {
    alone(|| {
        let mut subscriber = Program::start("-S -t Square -f 200");
        let mut publisher = Program::start("-P -t Square -f 150 --write-period 600");
        for (program, side) in [(&mut publisher, "offered"), (&mut subscriber, "requested")] {
            let begin = format!("on_{side}_deadline_missed() topic: 'Square'  type: 'ShapeType' : (total = ");
            program.find(|line| line.starts_with(&begin) && line.contains(", change = "));
        }
    });
}

#[test]
fn a_late_reader_gets_the_history_of_a_transient_local_writer() {
    alone(|| {
        let mut publisher = Program::start("-P -t Square -c RED -D l -k 0 -z 0 -w --write-period 10");
        for _ in 0..20 {
            publisher.shape();
        }
        let mut subscriber = Program::start("-S -t Square -D l -k 0");
        assert_eq!(subscriber.shape(), ("RED".to_owned(), 1, String::new()));
    });
}

#[test]
fn large_samples_arrive_whole() {
    alone(|| {
        let mut subscriber = Program::start("-S -t Square -k 0");
        let _publisher = Program::start("-P -t Square -k 0 -c RED --additional-payload-size 100000");
        for _ in 0..5 {
            assert_eq!(subscriber.shape(), ("RED".to_owned(), 20, "{255}".to_owned()));
        }
    });
}

#[test]
fn partitions_meet_by_patterns_and_the_strongest_owner_is_heard() {
    alone(|| {
        let mut subscriber = Program::start("-S -t Square -p p* -s 0");
        let _stranger = Program::start("-P -t Square -p x1 -s 9 -c RED -z 9");
        let _weak = Program::start("-P -t Square -p p1 -s 3 -c RED -z 3");
        subscriber.find(|line| line.ends_with("[3]"));
        let _strong = Program::start("-P -t Square -p p2 -s 4 -c RED -z 4");
        subscriber.find(|line| line.ends_with("[4]"));
        for _ in 0..10 {
            assert_eq!(subscriber.shape().1, 4);
        }
    });
}

#[test]
fn each_topic_has_its_instances() {
    alone(|| {
        let mut subscriber = Program::start("-S -t Square -k 0 --num-topics 2 --take-read");
        let _publisher = Program::start("-P -t Square -c RED -k 0 --num-topics 2 --num-instances 2");
        for place in ["Square     RED ", "Square     RED1", "Square1    RED ", "Square1    RED1"] {
            subscriber.find(|line| line.starts_with(place));
        }
    });
}

#[test]
fn iterations_are_counted_at_either_side() {
    alone(|| {
        let mut publisher = Program::start("-P -t Square -c RED -w -z 0 --num-iterations 3");
        for size in 1..=3 {
            assert_eq!(publisher.shape().1, size);
        }
        assert_eq!((publisher.next().as_str(), publisher.end()), ("Done.", 0));
        let mut subscriber = Program::start("-S -t Square --num-iterations 2 --read-period 1");
        subscriber.expect("Done.");
        assert_eq!(subscriber.end(), 0);
    });
}

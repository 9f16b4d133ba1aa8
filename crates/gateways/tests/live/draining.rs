//! What is on its way between gateways: it is acknowledged by the next one, and handed on there, and both can be waited for.
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use gateways::{GatewayId, Interest};
use testkit::namespace::alone;
use testkit::patience::patiently;

use crate::{Site, config};

const LONG: Duration = Duration::from_secs(100);

#[test]
fn what_is_acknowledged_is_there_and_what_was_handed_on_was_taken() {
    alone(|| {
        let (one, mut other) = (Site::start(&config(1, &[2])), Site::start(&config(2, &[1])));
        other.subscribe(None);
        one.is_wanted_by(1);
        for number in 0..200 {
            assert_eq!(one.publish(number, 4), 1);
            if number % 20 == 19 {
                assert!(one.gateway.await_acknowledged(LONG) && other.gateway.await_handed_on(LONG));
                assert_eq!(other.numbers(), (0..=number).collect::<Vec<_>>());
            }
        }
        // What is held for a suspended connection is not acknowledged before that goes on.
        one.gateway.suspend(GatewayId(2), true);
        assert_eq!(one.publish(200, 4), 1);
        assert!(!one.gateway.await_acknowledged(Duration::from_millis(20)));
        assert_eq!(other.numbers().len(), 200);
        one.gateway.suspend(GatewayId(2), false);
        assert!(one.gateway.await_acknowledged(LONG) && other.gateway.await_handed_on(LONG));
        assert_eq!(other.numbers().len(), 201);
    });
}

#[test]
fn one_who_is_slow_to_take_is_waited_for() {
    alone(|| {
        let (one, other) = (Site::start(&config(1, &[2])), Site::start(&config(2, &[1])));
        let (tell, told) = channel();
        let (go, gone) = channel::<()>();
        let (tell, gone) = (Mutex::new(tell), Mutex::new(gone));
        let interest = Interest { kind: Some("Fix".to_owned()), ..Interest::default() };
        let taken = other.gateway.subscribe(interest, move |_| {
            tell.lock().unwrap().send(()).unwrap();
            gone.lock().unwrap().recv().unwrap();
        });
        let taken = taken.unwrap();
        patiently("a subscriber", || one.gateway.is_wanted(one.kind).then_some(()));
        assert_eq!(one.publish(1, 4), 1);
        told.recv().unwrap();
        assert!(one.gateway.await_acknowledged(LONG), "it is there, although it is not taken");
        assert!(!other.gateway.await_handed_on(Duration::from_millis(20)));
        go.send(()).unwrap();
        assert!(other.gateway.await_handed_on(LONG));
        drop(taken);
    });
}

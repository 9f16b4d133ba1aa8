//! Who plays what with whom. A test is called after the one that reads or writes for the other side, and the case.
use crate::dds::Dds;
use crate::place::Link;
use crate::script::*;
use crate::shapes;
use crate::stage::{Kind, Stage, TERMS, Terms};

/// Tests of one script each, from the first implementation to the second.
macro_rules! plays {
    ($writer:ident to $reader:ident: $($name:ident = $script:path $({ $($field:ident: $value:expr),* })?;)*) => {
        $(#[test]
        fn $name() {
            let terms = Terms { $($($field: $value,)*)? ..TERMS };
            Stage::play(Dds::$writer, Dds::$reader, terms, $script);
        })*
    };
}

mod cyclone_to_fastdds {
    use super::*;
    plays! { Cyclone to FastDds:
        keyed_reliable = stream;
        keyed_reliable_over_a_cable = stream { link: Link::Cable };
        keyed_best_effort = stream { reliable: false };
        keyless_best_effort = stream { kind: Kind::Keyless, reliable: false };
        large_samples = large;
        large_samples_over_a_cable = large { link: Link::Cable };
        disposal = dispose;
        unregistering = unregister;
        late_reader = late { transient_local: true };
        best_effort_is_not_reliable = reliability_refused;
        volatile_is_not_transient_local = durability_refused { transient_local: true };
    }
}
mod fastdds_to_cyclone {
    use super::*;
    plays! { FastDds to Cyclone:
        keyed_reliable = stream;
        keyed_reliable_over_a_cable = stream { link: Link::Cable };
        keyed_best_effort = stream { reliable: false };
        keyless_best_effort = stream { kind: Kind::Keyless, reliable: false };
        large_samples = large;
        large_samples_over_a_cable = large { link: Link::Cable };
        late_reader = late { transient_local: true };
        best_effort_is_not_reliable = reliability_refused;
        volatile_is_not_transient_local = durability_refused { transient_local: true };
    }
}
mod cyclone_to_cyclone {
    use super::*;
    plays! { Cyclone to Cyclone:
        keyed_xcdr2 = stream {xcdr: 2};
        keyless_xcdr2 = stream {xcdr: 2, kind: Kind::Keyless};
        disposal = dispose;
        unregistering = unregister;
        late_reader = late { transient_local: true };
        encoding = encoding_refused { xcdr: 2 };
    }
}

mod rustdds_to_cyclone {
    use super::*;
    plays! { RustDds to Cyclone:
        reliable = shapes::from_shape_main;
        best_effort = shapes::from_shape_main { reliable: false };
        over_a_cable = shapes::from_shape_main { link: Link::Cable };
        large = shapes::large_from_shape_main;
        late = shapes::late_after_shape_main { transient_local: true };
        disposal = shapes::disposed_by_shape_main;
    }
}
mod cyclone_to_rustdds {
    use super::*;
    plays! { Cyclone to RustDds:
        reliable = shapes::to_shape_main;
        best_effort = shapes::to_shape_main { reliable: false };
        over_a_cable = shapes::to_shape_main { link: Link::Cable };
        late = shapes::late_shape_main { transient_local: true };
    }
}

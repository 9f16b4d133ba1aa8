//! Who plays what with whom. A test is called after the case, and its module after who writes and who reads.
use crate::place::Link;
use crate::script::*;
use crate::shapes::*;
use crate::stage::{Kind, Stage, TERMS, Terms};
use crate::strangers::*;
use crate::vendor::Vendor;

/// Tests of one script each, from the first implementation to the second.
macro_rules! plays {
    ($writer:ident to $reader:ident: $($name:ident = $script:ident $({ $($field:ident: $value:expr),* })?;)*) => {
        $(#[test]
        fn $name() {
            let terms = Terms { $($($field: $value,)*)? ..TERMS };
            Stage::play(Vendor::$writer, Vendor::$reader, terms, $script);
        })*
    };
}

mod punctual_to_cyclone {
    use super::*;
    plays! { Punctual to Cyclone:
        keyed = stream;
        numbered = dispose { kind: Kind::Numbered };
        numbered_xcdr2 = unregister { kind: Kind::Numbered, xcdr: 2 };
        mutable = dispose { kind: Kind::Mutable };
        mutable_xcdr2 = dispose { kind: Kind::Mutable, xcdr: 2 };
        keyed_xcdr2 = stream { xcdr: 2 };
        keyed_best_effort = stream { reliable: false };
        keyless = stream { kind: Kind::Keyless };
        keyless_xcdr2_best_effort = stream { kind: Kind::Keyless, xcdr: 2, reliable: false };
        keyed_xcdr2_over_a_cable = stream { xcdr: 2, link: Link::Cable };
        large_samples = large;
        large_samples_xcdr2_best_effort = large { xcdr: 2, reliable: false };
        large_samples_over_a_cable = large { link: Link::Cable };
        large_samples_in_spite_of_losses = large_with_losses { link: Link::NarrowCable };
        disposed = dispose;
        disposed_xcdr2 = dispose { xcdr: 2 };
        unregistered = unregister;
        unregistered_xcdr2 = unregister { xcdr: 2 };
        late_reader = late { transient_local: true };
        late_reader_xcdr2_over_a_cable = late { transient_local: true, xcdr: 2, link: Link::Cable };
        best_effort_is_not_reliable = reliability_refused;
        volatile_is_not_transient_local = durability_refused { transient_local: true };
        xcdr1_is_not_xcdr2 = encoding_refused { xcdr: 2 };
        later_version_xcdr2 = stream { kind: Kind::Grown, xcdr: 2 };
        other_type = types_refused { kind: Kind::Clashing };
        strangers_come_first = strangers_first { link: Link::Cable };
        others_claim_its_name = claims_to_its_name { link: Link::Cable };
        defaults = stream { xcdr: 0 };
        defaults_of_final_types = stream { kind: Kind::Keyless, xcdr: 0 };
        defaults_and_a_picture = picture { xcdr: 0 };
        idle = silent_when_idle { link: Link::Cable };
    }
}

mod cyclone_to_punctual {
    use super::*;
    plays! { Cyclone to Punctual:
        keyed = stream;
        numbered = dispose { kind: Kind::Numbered };
        numbered_xcdr2 = unregister { kind: Kind::Numbered, xcdr: 2 };
        mutable = dispose { kind: Kind::Mutable };
        mutable_xcdr2 = dispose { kind: Kind::Mutable, xcdr: 2 };
        keyed_xcdr2 = stream { xcdr: 2 };
        keyed_best_effort = stream { reliable: false };
        keyless = stream { kind: Kind::Keyless };
        keyless_xcdr2_best_effort = stream { kind: Kind::Keyless, xcdr: 2, reliable: false };
        keyed_xcdr2_over_a_cable = stream { xcdr: 2, link: Link::Cable };
        large_samples = large;
        large_samples_xcdr2_best_effort = large { xcdr: 2, reliable: false };
        large_samples_over_a_cable = large { link: Link::Cable };
        large_samples_in_spite_of_losses = large_with_losses { link: Link::NarrowCable };
        disposed = dispose;
        disposed_xcdr2 = dispose { xcdr: 2 };
        unregistered = unregister;
        unregistered_xcdr2 = unregister { xcdr: 2 };
        late_reader = late { transient_local: true };
        late_reader_xcdr2_over_a_cable = late { transient_local: true, xcdr: 2, link: Link::Cable };
        lost_and_found = returns { transient_local: true, link: Link::Cable };
        best_effort_is_not_reliable = reliability_refused;
        volatile_is_not_transient_local = durability_refused { transient_local: true };
        xcdr2_is_not_xcdr1 = encoding_refused;
        later_version = stream { kind: Kind::Grown };
        later_version_xcdr2 = stream { kind: Kind::Grown, xcdr: 2 };
        other_type = types_refused { kind: Kind::Clashing, xcdr: 2 };
        defaults = stream { xcdr: 0 };
        defaults_of_final_types = stream { kind: Kind::Keyless, xcdr: 0 };
        defaults_of_mutable_types = dispose { kind: Kind::Mutable, xcdr: 0 };
        defaults_and_a_picture = picture { xcdr: 0 };
        last_value = disposed_with_last_value;
        last_value_xcdr2 = disposed_with_last_value { kind: Kind::Numbered, xcdr: 2 };
    }
}

mod punctual_to_fastdds {
    use super::*;
    plays! { Punctual to FastDds:
        keyed = stream;
        numbered = dispose { kind: Kind::Numbered };
        numbered_unregistered = unregister { kind: Kind::Numbered };
        keyed_best_effort = stream { reliable: false };
        keyless = stream { kind: Kind::Keyless };
        keyless_best_effort = stream { kind: Kind::Keyless, reliable: false };
        keyed_over_a_cable = stream { link: Link::Cable };
        large_samples = large;
        large_samples_best_effort = large { reliable: false };
        large_samples_over_a_cable = large { link: Link::Cable };
        large_samples_in_spite_of_losses = large_with_losses { link: Link::NarrowCable };
        disposed = dispose;
        unregistered = unregister;
        late_reader = late { transient_local: true };
        late_reader_over_a_cable = late { transient_local: true, link: Link::Cable };
        lost_and_found = returns { transient_local: true, link: Link::Cable };
        best_effort_is_not_reliable = reliability_refused;
        volatile_is_not_transient_local = durability_refused { transient_local: true };
        strangers_come_first = strangers_first { link: Link::Cable };
        others_claim_its_name = claims_to_its_name { link: Link::Cable };
        idle = silent_when_idle { link: Link::Cable };
    }
}

mod fastdds_to_punctual {
    use super::*;
    plays! { FastDds to Punctual:
        keyed = stream;
        numbered = dispose { kind: Kind::Numbered };
        numbered_unregistered = unregister { kind: Kind::Numbered };
        keyed_best_effort = stream { reliable: false };
        keyless = stream { kind: Kind::Keyless };
        keyless_best_effort = stream { kind: Kind::Keyless, reliable: false };
        keyed_over_a_cable = stream { link: Link::Cable };
        large_samples = large;
        large_samples_best_effort = large { reliable: false };
        large_samples_over_a_cable = large { link: Link::Cable };
        large_samples_in_spite_of_losses = large_with_losses { link: Link::NarrowCable };
        disposed = dispose;
        unregistered = unregister;
        late_reader = late { transient_local: true };
        late_reader_over_a_cable = late { transient_local: true, link: Link::Cable };
        lost_and_found = returns { transient_local: true, link: Link::Cable };
        best_effort_is_not_reliable = reliability_refused;
        volatile_is_not_transient_local = durability_refused { transient_local: true };
    }
}

mod punctual_to_fastdds3 {
    use super::*;
    plays! { Punctual to FastDds3:
        keyed = stream;
        keyed_xcdr2 = stream { xcdr: 2 };
        keyless_xcdr2_over_a_cable = stream { kind: Kind::Keyless, xcdr: 2, link: Link::Cable };
        later_version_xcdr2 = stream { kind: Kind::Grown, xcdr: 2 };
        content_filter = filtered { filter: FILTER };
        content_filter_xcdr2_over_a_cable = filtered { filter: FILTER, xcdr: 2, link: Link::Cable };
        content_filter_at_the_writer = filtered_at_the_writer { filter: FILTER, link: Link::Cable };
    }
}

mod fastdds3_to_punctual {
    use super::*;
    plays! { FastDds3 to Punctual:
        keyed = stream;
        keyed_xcdr2 = stream { xcdr: 2 };
        keyless_xcdr2_over_a_cable = stream { kind: Kind::Keyless, xcdr: 2, link: Link::Cable };
        numbered_xcdr2 = stream { kind: Kind::Numbered, xcdr: 2 };
        later_version_xcdr2 = stream { kind: Kind::Grown, xcdr: 2 };
        content_filter = filtered { filter: FILTER };
        content_filter_xcdr2_over_a_cable = filtered { filter: FILTER, xcdr: 2, link: Link::Cable };
    }
}

mod punctual_to_rustdds {
    use super::*;
    plays! { Punctual to RustDds:
        reliable = to_shape_main;
        best_effort = to_shape_main { reliable: false };
        over_a_cable = to_shape_main { link: Link::Cable };
        late_reader = late_shape_main { transient_local: true };
        idle = idle_before_shape_main { link: Link::Cable };
    }
}

mod rustdds_to_punctual {
    use super::*;
    plays! { RustDds to Punctual:
        reliable = from_shape_main;
        best_effort = from_shape_main { reliable: false };
        over_a_cable = from_shape_main { link: Link::Cable };
        large_samples = large_from_shape_main;
        late_reader = late_after_shape_main { transient_local: true };
        disposed = disposed_by_shape_main;
    }
}

//! Networks that others have published for first-in first-out servers: of the functional tests of NetCal/DNC 2.8, and two of Saihu.

/// Rate and latency of servers; bursts, rates and ways of flows.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) servers: &'static [(f64, f64)],
    pub(crate) flows: &'static [(f64, f64, &'static [usize])],
}

const S: (f64, f64) = (20.0, 20.0);
const T: (f64, f64) = (10.0, 10.0);

pub(crate) const CASES: [Case; 17] = [
    Case {
        name: "FF_3S_1SC_2F_1AC_2P",
        servers: &[S; 3],
        flows: &[(25.0, 5.0, &[0, 2]), (25.0, 5.0, &[0, 1, 2])],
    },
    Case {
        name: "FF_4S_1SC_3F_1AC_3P",
        servers: &[S; 4],
        flows: &[(25.0, 5.0, &[0, 1, 3]), (25.0, 5.0, &[2, 3]), (25.0, 5.0, &[2, 1])],
    },
    Case {
        name: "FF_4S_1SC_4F_1AC_4P",
        servers: &[S; 4],
        flows: &[
            (25.0, 5.0, &[0, 1, 3]),
            (25.0, 5.0, &[2, 3]),
            (25.0, 5.0, &[2, 1]),
            (25.0, 5.0, &[2, 0, 3]),
        ],
    },
    Case {
        name: "S_1SC_10F_10AC",
        servers: &[T],
        flows: &[
            (1.0, 0.1, &[0]),
            (2.0, 0.2, &[0]),
            (3.0, 0.3, &[0]),
            (4.0, 0.4, &[0]),
            (5.0, 0.5, &[0]),
            (6.0, 0.6, &[0]),
            (7.0, 0.7, &[0]),
            (8.0, 0.8, &[0]),
            (9.0, 0.9, &[0]),
            (10.0, 1.0, &[0]),
        ],
    },
    Case { name: "S_1SC_1F_1AC", servers: &[T], flows: &[(25.0, 5.0, &[0])] },
    Case { name: "S_1SC_2F_2AC", servers: &[T], flows: &[(10.0, 4.0, &[0]), (25.0, 5.0, &[0])] },
    Case { name: "TA_2S_1SC_1F_1AC_1P", servers: &[T; 2], flows: &[(25.0, 5.0, &[0, 1])] },
    Case { name: "TA_2S_1SC_2F_1AC_2P", servers: &[S; 2], flows: &[(25.0, 5.0, &[0, 1]), (25.0, 5.0, &[1])] },
    Case {
        name: "TA_2S_1SC_4F_1AC_1P",
        servers: &[T; 2],
        flows: &[(10.0, 2.0, &[0, 1]), (10.0, 2.0, &[0, 1]), (10.0, 2.0, &[0, 1]), (10.0, 2.0, &[0, 1])],
    },
    Case {
        name: "TA_2S_2SC_2F_1AC_1P",
        servers: &[T, (6.0, 6.0)],
        flows: &[(12.5, 2.5, &[0, 1]), (12.5, 2.5, &[0, 1])],
    },
    Case {
        name: "TA_3S_1SC_2F_1AC_1P",
        servers: &[S; 3],
        flows: &[(25.0, 5.0, &[0, 1, 2]), (25.0, 5.0, &[0, 1, 2])],
    },
    Case {
        name: "TA_3S_1SC_3F_1AC_3P",
        servers: &[S; 3],
        flows: &[(25.0, 5.0, &[0, 1]), (25.0, 5.0, &[2]), (25.0, 5.0, &[0, 1, 2])],
    },
    Case {
        name: "TA_4S_1SC_2F_1AC_2P",
        servers: &[S; 4],
        flows: &[(25.0, 5.0, &[0, 1, 2, 3]), (25.0, 5.0, &[1, 2])],
    },
    Case {
        name: "TR_3S_1SC_2F_1AC_2P",
        servers: &[S; 3],
        flows: &[(25.0, 5.0, &[0, 2]), (25.0, 5.0, &[1, 2])],
    },
    Case {
        name: "TR_7S_1SC_3F_1AC_3P",
        servers: &[S; 7],
        flows: &[(25.0, 5.0, &[1, 2, 5, 6]), (25.0, 5.0, &[0, 1, 2, 5, 6]), (25.0, 5.0, &[3, 4, 5, 6])],
    },
    Case {
        name: "Saihu, ring",
        servers: &[(10.0, 1.0); 2],
        flows: &[(1.0, 1.0, &[0, 1]), (1.0, 1.0, &[1, 0])],
    },
    Case {
        name: "Saihu, interleaved tandem",
        servers: &[(4.0, 1.0); 2],
        flows: &[(0.5, 0.5, &[0, 1]), (0.5, 0.5, &[0, 1])],
    },
];

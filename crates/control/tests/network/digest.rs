//! All that the manager does in random networks, as a number for each seed. A change of how the manager is built leaves the numbers as they
//! are; one of what it does or says changes them, and then the list here is replaced by the one that the test prints.
use std::fmt::{self, Debug, Write as _};

use crate::seeds::Play;

/// FNV-1a of 64 bits over what is written to it.
#[derive(Clone, Copy)]
pub(crate) struct Digest(u64);

impl Digest {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Goes on with the debug text of something.
    pub(crate) fn add(&mut self, what: &dyn Debug) {
        write!(self, "{what:?};").unwrap();
    }
}

impl fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(())
    }
}

/// Every action and note, each time at which the manager wants to be called, and its report after each step, in the network of a seed.
fn digest_of(seed: u64) -> u64 {
    let mut play = Play::new(seed);
    play.world.digest = Some(Digest::EMPTY);
    play.play_through();
    play.world.digest.map_or(0, |digest| digest.0)
}

/// The digests of the seeds from 0 on.
const DIGESTS: &[u64] = &[
    0x440a_3553_282f_cad7,
    0x950f_e012_5bfe_de16,
    0x2dc2_8802_18ff_1669,
    0xb29d_3e8f_33cf_888e,
    0x665b_3db0_e8e9_e779,
    0x2de8_6799_4509_1654,
    0x9999_1d51_f5be_7bee,
    0x524e_11a4_efe7_6fdb,
    0x7a50_814a_5fa2_e1ec,
    0x4ab8_ad76_81ba_2916,
    0xfb57_4dee_399a_089b,
    0x2705_afec_0514_494b,
    0x7bda_de73_1ae3_51c4,
    0x9fe1_30c6_b25a_be7e,
    0xdc77_0b80_86dc_c8c4,
    0xbad3_0412_2ef2_56b7,
    0x8b03_ac49_61b1_d0c5,
    0xb4c5_29be_57a6_fcf8,
    0x835c_b08d_79f6_1fbe,
    0x5fd0_8f0b_bf63_acfa,
    0x606b_9744_0f9c_f312,
    0xbc5e_4eac_7685_d944,
    0x6b24_75d7_b5bd_0b84,
    0x3503_7f88_8489_daf3,
    0xbd1b_0a42_eeb2_69bc,
    0x013f_a3e1_938d_6e06,
    0x150f_77e2_4733_d87a,
    0xc17e_8688_3a81_bc91,
    0xf284_06a0_efb6_accd,
    0x4009_8101_05ed_cdeb,
    0x5986_0c46_fe3b_9604,
    0x9bd4_ae9b_9537_daaf,
    0x96fc_d9f2_4813_c2e9,
    0xb2a9_9966_0b29_fd1e,
    0x12fa_c0c0_6be8_acf1,
    0xd3b2_293c_6b82_c13e,
    0xa3d6_cf2c_d8ff_8d89,
    0xf3f3_6578_a98d_781d,
    0xb999_a644_9127_f481,
    0x8ed0_d3e7_7fa5_28e0,
    0xa0f9_57b5_c8b1_fb5c,
    0x4519_6461_d135_3454,
    0xdabf_1b41_c2da_0439,
    0x42fe_c641_935a_2db3,
    0x74d5_44d0_46f7_1ab9,
    0x8bad_07e9_442c_ce41,
    0x92d5_8e3f_d334_9550,
    0xe074_9f61_0bc6_37ac,
    0xb578_82a1_68bc_fd00,
    0x11fc_4706_b16c_1a55,
    0x34c1_6407_fd5f_5462,
    0xd7a2_cbe8_2a85_7237,
    0x245b_3f6e_52cb_7fa1,
    0x0e9f_3165_a40f_b987,
    0x3538_0035_0ba3_2826,
    0x072a_08cc_eac5_dd73,
    0x0fde_acf5_b450_ba89,
    0x8528_3898_7b86_0570,
    0x77ac_4181_6256_676c,
    0xf4c1_2fba_fa45_fbf3,
];

#[test]
fn what_the_manager_does_is_what_it_did() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let seeds = DIGESTS.len() as u64;
    let mut found: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let part = |core: usize| -> Vec<(u64, u64)> {
            (0..seeds).skip(core).step_by(cores).map(|seed| (seed, digest_of(seed))).collect()
        };
        let parts: Vec<_> = (0..cores).map(|core| scope.spawn(move || part(core))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    found.sort_unstable();
    let found: Vec<u64> = found.into_iter().map(|(_, digest)| digest).collect();
    if found != DIGESTS {
        found.iter().for_each(|digest| println!("    {digest:#018x},"));
        let other = found.iter().zip(DIGESTS).enumerate().filter(|(_, (one, other))| one != other);
        panic!("other than before: seeds {:?}", other.map(|(seed, _)| seed).collect::<Vec<_>>());
    }
}

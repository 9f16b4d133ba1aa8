//! The one reader of untrusted bytes: every read is checked, none can panic.

/// Byte order of multi-byte numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Endianness {
    /// Most significant byte first.
    Big,
    /// Least significant byte first.
    Little,
}

/// A position in a slice of received bytes. All reads give `None` past the end and then leave the position as it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
    endianness: Endianness,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte.
    #[inline]
    pub const fn new(bytes: &'a [u8], endianness: Endianness) -> Self {
        Self { bytes, position: 0, endianness }
    }

    /// The byte order that numbers are read in.
    #[inline]
    pub const fn endianness(&self) -> Endianness {
        self.endianness
    }

    /// Bytes read so far.
    #[inline]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// Bytes left.
    #[inline]
    pub const fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    /// The bytes left, without reading them.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.position..).unwrap_or(&[])
    }

    /// Reads `len` bytes.
    #[inline]
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let end = self.position.checked_add(len)?;
        let slice = self.bytes.get(self.position..end)?;
        self.position = end;
        Some(slice)
    }

    /// Reads exactly `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = self.rest().first_chunk::<N>()?;
        self.position = self.position.saturating_add(N);
        Some(*bytes)
    }

    /// Skips to the next multiple of `alignment` (a power of two) counted from the first byte; `None` if that is past the end.
    #[inline]
    pub fn align(&mut self, alignment: usize) -> Option<()> {
        let skip = self.position.wrapping_neg() & alignment.saturating_sub(1);
        self.take(skip).map(|_| ())
    }

    /// Reads one byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[octet]| octet)
    }

    /// Reads two bytes.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        let bytes = self.array()?;
        Some(match self.endianness {
            Endianness::Big => u16::from_be_bytes(bytes),
            Endianness::Little => u16::from_le_bytes(bytes),
        })
    }

    /// Reads four bytes.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        let bytes = self.array()?;
        Some(match self.endianness {
            Endianness::Big => u32::from_be_bytes(bytes),
            Endianness::Little => u32::from_le_bytes(bytes),
        })
    }

    /// Reads four bytes as a signed number.
    #[inline]
    pub fn i32(&mut self) -> Option<i32> {
        self.u32().map(u32::cast_signed)
    }

    /// Reads eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        let bytes = self.array()?;
        Some(match self.endianness {
            Endianness::Big => u64::from_be_bytes(bytes),
            Endianness::Little => u64::from_le_bytes(bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stop_at_the_end_and_keep_the_position() {
        let mut cursor = Cursor::new(&[1, 2, 3], Endianness::Little);
        assert_eq!(cursor.u32(), None);
        assert_eq!(cursor.u16(), Some(0x0201));
        assert_eq!(cursor.align(4), None);
        assert_eq!(cursor.take(usize::MAX), None);
        assert_eq!(cursor.rest(), [3]);
        assert_eq!(cursor.u8(), Some(3));
        assert_eq!(cursor.u8(), None);
        assert_eq!(cursor.remaining(), 0);
    }

    #[test]
    fn both_byte_orders() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(Cursor::new(&bytes, Endianness::Big).u64(), Some(0x0102_0304_0506_0708));
        assert_eq!(Cursor::new(&bytes, Endianness::Little).u32(), Some(0x0403_0201));
    }
}

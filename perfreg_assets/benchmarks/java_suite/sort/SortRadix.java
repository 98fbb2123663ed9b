/** Radix sort, a byte at a time from the least one; the sign is turned so that negative numbers come first. */
public final class SortRadix extends SortWorkload {
    @Override void sort(int[] values) {
        int[] from = values, to = new int[values.length];
        for (int shift = 0; shift < 32; shift += 8) {
            int[] places = new int[257];
            for (int one : from) places[(((one ^ Integer.MIN_VALUE) >>> shift) & 255) + 1]++;
            for (int digit = 0; digit < 256; digit++) places[digit + 1] += places[digit];
            for (int one : from) to[places[((one ^ Integer.MIN_VALUE) >>> shift) & 255]++] = one;
            int[] swapped = from; from = to; to = swapped;
        }
    }

    @Override void sort(long[] values) {
        long[] from = values, to = new long[values.length];
        for (int shift = 0; shift < 64; shift += 8) {
            int[] places = new int[257];
            for (long one : from) places[(int) (((one ^ Long.MIN_VALUE) >>> shift) & 255) + 1]++;
            for (int digit = 0; digit < 256; digit++) places[digit + 1] += places[digit];
            for (long one : from) to[places[(int) (((one ^ Long.MIN_VALUE) >>> shift) & 255)]++] = one;
            long[] swapped = from; from = to; to = swapped;
        }
    }
}

/** A Huffman code of the bytes, in which they are written and read again. Its length is the least there is. */
public final class Huffman extends Workload {
    protected int paramSize = 65536;
    private byte[] text, found;
    private long bits;

    @Override protected void prepare() { text = SplitMix.text(paramSize); }

    @Override protected long payload() {
        int[] weights = new int[511], left = new int[511], right = new int[511], active = new int[511];
        for (byte one : text) weights[one & 255]++;
        int count = 0, next = 256;
        for (int one = 0; one < 256; one++) if (weights[one] > 0) active[count++] = one;
        while (count > 1) {
            int[] pair = new int[2];
            for (int which = 0; which < 2; which++) {
                int least = 0;
                for (int place = 1; place < count; place++) if (weights[active[place]] < weights[active[least]]) least = place;
                pair[which] = active[least];
                active[least] = active[--count];
            }
            left[next] = pair[0]; right[next] = pair[1];
            weights[next] = weights[pair[0]] + weights[pair[1]];
            active[count++] = next++;
        }
        int root = active[0];
        long[] codes = new long[511];
        int[] lengths = new int[511];
        for (int node = root; node >= 256; node--) {
            codes[left[node]] = codes[node] << 1; lengths[left[node]] = lengths[node] + 1;
            codes[right[node]] = codes[node] << 1 | 1; lengths[right[node]] = lengths[node] + 1;
        }
        bits = 0;
        for (byte one : text) bits += lengths[one & 255];
        long[] written = new long[(int) (bits >> 6) + 1];
        long at = 0;
        for (byte one : text)
            for (int bit = lengths[one & 255] - 1; bit >= 0; bit--, at++) written[(int) (at >> 6)] |= (codes[one & 255] >>> bit & 1) << (at & 63);
        byte[] read = new byte[text.length];
        at = 0;
        for (int place = 0; place < read.length; place++) {
            int node = root;
            for (; node >= 256; at++) node = (written[(int) (at >> 6)] >>> (at & 63) & 1) == 0 ? left[node] : right[node];
            read[place] = (byte) node;
        }
        found = read;
        return paramSize;
    }

    @Override protected long checksum() { return Fold.of(bits, Fold.of(found)); }
}

/** Strings that are looked up in the virtual machine's own table: String.intern. */
public final class JniStrings extends Workload {
    protected int paramStrings = 1000;
    private String[] strings;
    private long same;

    @Override protected void prepare() {
        SplitMix random = new SplitMix(20);
        strings = new String[paramStrings];
        for (int i = 0; i < paramStrings; i++) strings[i] = Long.toString(random.nextLong() >>> 1, 36).intern();
    }

    @Override protected long payload() {
        same = 0;
        for (int i = 0; i < paramStrings; i++) if (new String(strings[i]).intern() == strings[i]) same++;
        return paramStrings;
    }

    @Override protected long checksum() {
        long sum = same;
        for (String one : strings) sum = Fold.add(sum, one.intern().hashCode());
        return sum;
    }
}

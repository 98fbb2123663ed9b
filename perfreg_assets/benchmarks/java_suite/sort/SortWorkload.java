/** Numbers of a type to be sorted; each kind of sorting knows some types. */
abstract class SortWorkload extends Workload {
    protected int paramSize = 100000;
    protected String paramType = "int";
    private int[] ints, sortedInts;
    private long[] longs, sortedLongs;
    private float[] floats, sortedFloats;
    private double[] doubles, sortedDoubles;

    void sort(int[] values) { throw noType("int"); }
    void sort(long[] values) { throw noType("long"); }
    void sort(float[] values) { throw noType("float"); }
    void sort(double[] values) { throw noType("double"); }

    @Override protected void prepare() {
        SplitMix random = new SplitMix(1);
        ints = new int[paramType.equals("int") ? paramSize : 0];
        longs = new long[paramType.equals("long") ? paramSize : 0];
        floats = new float[paramType.equals("float") ? paramSize : 0];
        doubles = new double[paramType.equals("double") ? paramSize : 0];
        if (ints.length + longs.length + floats.length + doubles.length == 0) throw noType(paramType);
        for (int place = 0; place < ints.length; place++) ints[place] = (int) (random.nextLong() >>> 32);
        for (int place = 0; place < longs.length; place++) longs[place] = random.nextLong();
        for (int place = 0; place < floats.length; place++) floats[place] = (float) random.nextDouble();
        for (int place = 0; place < doubles.length; place++) doubles[place] = random.nextDouble();
    }

    @Override protected long payload() {
        if (ints.length > 0) sort(sortedInts = ints.clone());
        else if (longs.length > 0) sort(sortedLongs = longs.clone());
        else if (floats.length > 0) sort(sortedFloats = floats.clone());
        else sort(sortedDoubles = doubles.clone());
        return paramSize;
    }

    @Override protected long checksum() {
        if (ints.length > 0) return Fold.of(sortedInts);
        if (longs.length > 0) return Fold.of(sortedLongs);
        return floats.length > 0 ? Fold.of(sortedFloats) : Fold.of(sortedDoubles);
    }
}

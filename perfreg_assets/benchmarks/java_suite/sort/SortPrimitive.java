import java.util.Arrays;

/** The library's sorting of primitive numbers. */
public final class SortPrimitive extends SortWorkload {
    @Override void sort(int[] values) { Arrays.sort(values); }
    @Override void sort(long[] values) { Arrays.sort(values); }
    @Override void sort(float[] values) { Arrays.sort(values); }
    @Override void sort(double[] values) { Arrays.sort(values); }
}

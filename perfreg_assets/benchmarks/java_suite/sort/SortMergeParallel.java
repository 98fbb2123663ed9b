import java.util.Arrays;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;

/** Merge sort whose halves are sorted by workers side by side. */
public final class SortMergeParallel extends SortWorkload {
    private static final int ALONE = 4096;
    protected int paramWorkers = 2;
    private ForkJoinPool pool;

    @Override protected void prepare() {
        super.prepare();
        pool = new ForkJoinPool(paramWorkers);
    }

    @Override public void done() {
        if (pool != null) pool.shutdown();
    }

    @Override void sort(int[] values) { pool.invoke(new Ints(values, new int[values.length], 0, values.length)); }
    @Override void sort(long[] values) { pool.invoke(new Longs(values, new long[values.length], 0, values.length)); }

    private static final class Ints extends RecursiveAction {
        private final int[] values, other;
        private final int from, to;

        Ints(int[] values, int[] other, int from, int to) { this.values = values; this.other = other; this.from = from; this.to = to; }

        @Override protected void compute() {
            if (to - from <= ALONE) { Arrays.sort(values, from, to); return; }
            int middle = (from + to) >>> 1;
            invokeAll(new Ints(values, other, from, middle), new Ints(values, other, middle, to));
            System.arraycopy(values, from, other, from, to - from);
            int left = from, right = middle;
            for (int place = from; place < to; place++)
                values[place] = right >= to || left < middle && other[left] <= other[right] ? other[left++] : other[right++];
        }
    }

    private static final class Longs extends RecursiveAction {
        private final long[] values, other;
        private final int from, to;

        Longs(long[] values, long[] other, int from, int to) { this.values = values; this.other = other; this.from = from; this.to = to; }

        @Override protected void compute() {
            if (to - from <= ALONE) { Arrays.sort(values, from, to); return; }
            int middle = (from + to) >>> 1;
            invokeAll(new Longs(values, other, from, middle), new Longs(values, other, middle, to));
            System.arraycopy(values, from, other, from, to - from);
            int left = from, right = middle;
            for (int place = from; place < to; place++)
                values[place] = right >= to || left < middle && other[left] <= other[right] ? other[left++] : other[right++];
        }
    }
}

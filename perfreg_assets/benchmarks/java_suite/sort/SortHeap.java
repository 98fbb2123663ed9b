/** Heap sort in place. */
public final class SortHeap extends SortWorkload {
    @Override void sort(int[] values) {
        for (int root = values.length / 2 - 1; root >= 0; root--) sink(values, root, values.length);
        for (int end = values.length - 1; end > 0; end--) {
            int top = values[0]; values[0] = values[end]; values[end] = top;
            sink(values, 0, end);
        }
    }

    @Override void sort(long[] values) {
        for (int root = values.length / 2 - 1; root >= 0; root--) sink(values, root, values.length);
        for (int end = values.length - 1; end > 0; end--) {
            long top = values[0]; values[0] = values[end]; values[end] = top;
            sink(values, 0, end);
        }
    }

    @Override void sort(double[] values) {
        for (int root = values.length / 2 - 1; root >= 0; root--) sink(values, root, values.length);
        for (int end = values.length - 1; end > 0; end--) {
            double top = values[0]; values[0] = values[end]; values[end] = top;
            sink(values, 0, end);
        }
    }

    private static void sink(int[] values, int root, int end) {
        int one = values[root];
        for (int child = 2 * root + 1; child < end; child = 2 * root + 1) {
            if (child + 1 < end && values[child + 1] > values[child]) child++;
            if (values[child] <= one) break;
            values[root] = values[child];
            root = child;
        }
        values[root] = one;
    }

    private static void sink(long[] values, int root, int end) {
        long one = values[root];
        for (int child = 2 * root + 1; child < end; child = 2 * root + 1) {
            if (child + 1 < end && values[child + 1] > values[child]) child++;
            if (values[child] <= one) break;
            values[root] = values[child];
            root = child;
        }
        values[root] = one;
    }

    private static void sink(double[] values, int root, int end) {
        double one = values[root];
        for (int child = 2 * root + 1; child < end; child = 2 * root + 1) {
            if (child + 1 < end && values[child + 1] > values[child]) child++;
            if (values[child] <= one) break;
            values[root] = values[child];
            root = child;
        }
        values[root] = one;
    }
}

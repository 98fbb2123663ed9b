import java.util.Arrays;

/** The shortest way through a square of cells of which a quarter is blocked: A* with a heap of its own. */
public final class AStar extends Workload {
    protected int paramSize = 256;
    private boolean[] blocked;
    private int[] cost, heap, estimates;
    private int count, length;

    @Override protected void prepare() {
        int cells = paramSize * paramSize;
        SplitMix random = new SplitMix(5);
        blocked = new boolean[cells];
        for (int cell = 0; cell < cells; cell++) blocked[cell] = random.nextInt(4) == 0;
        blocked[0] = blocked[cells - 1] = false;
        cost = new int[cells];
        heap = new int[4 * cells + 4];
        estimates = new int[4 * cells + 4];
    }

    @Override protected long payload() {
        int goal = paramSize * paramSize - 1;
        Arrays.fill(cost, Integer.MAX_VALUE);
        count = 0;
        cost[0] = 0;
        push(0, 2 * (paramSize - 1));
        length = -1;
        while (count > 0) {
            int estimate = estimates[0], cell = pop();
            if (cell == goal) { length = cost[cell]; break; }
            if (estimate > cost[cell] + rest(cell)) continue;
            int x = cell % paramSize, y = cell / paramSize;
            if (x > 0) reach(cell - 1, cost[cell] + 1);
            if (x < paramSize - 1) reach(cell + 1, cost[cell] + 1);
            if (y > 0) reach(cell - paramSize, cost[cell] + 1);
            if (y < paramSize - 1) reach(cell + paramSize, cost[cell] + 1);
        }
        return 1;
    }

    private int rest(int cell) { return 2 * (paramSize - 1) - cell % paramSize - cell / paramSize; }

    private void reach(int cell, int found) {
        if (blocked[cell] || found >= cost[cell]) return;
        cost[cell] = found;
        push(cell, found + rest(cell));
    }

    private void push(int cell, int estimate) {
        int place = count++;
        for (int parent = (place - 1) / 2; place > 0 && estimates[parent] > estimate; place = parent, parent = (place - 1) / 2) {
            heap[place] = heap[parent]; estimates[place] = estimates[parent];
        }
        heap[place] = cell; estimates[place] = estimate;
    }

    private int pop() {
        int top = heap[0], cell = heap[--count], estimate = estimates[count], place = 0;
        for (int child = 1; child < count; child = 2 * place + 1) {
            if (child + 1 < count && estimates[child + 1] < estimates[child]) child++;
            if (estimates[child] >= estimate) break;
            heap[place] = heap[child]; estimates[place] = estimates[child];
            place = child;
        }
        heap[place] = cell; estimates[place] = estimate;
        return top;
    }

    @Override protected long checksum() { return length; }
}

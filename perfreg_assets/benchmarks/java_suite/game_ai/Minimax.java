/** A game of three in a row on a small board, looked through to its end: all positions, or with alpha-beta pruning. */
public final class Minimax extends Workload {
    protected int paramColumns = 3, paramRows = 3;
    protected boolean paramPruning = true;
    private int[] lines;
    private int all, value;
    private long positions;

    @Override protected void prepare() {
        int[] found = new int[8 * paramColumns * paramRows];
        int count = 0;
        int[][] ways = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
        for (int row = 0; row < paramRows; row++)
            for (int column = 0; column < paramColumns; column++)
                for (int[] way : ways) {
                    int lastColumn = column + 2 * way[0], lastRow = row + 2 * way[1];
                    if (lastColumn >= paramColumns || lastRow < 0 || lastRow >= paramRows) continue;
                    for (int step = 0; step < 3; step++)
                        found[count] |= 1 << (row + step * way[1]) * paramColumns + column + step * way[0];
                    count++;
                }
        lines = java.util.Arrays.copyOf(found, count);
        all = (1 << paramColumns * paramRows) - 1;
    }

    @Override protected long payload() {
        positions = 0;
        value = best(0, 0, -1, 1);
        return positions;
    }

    /** For who is to move: 1 won, 0 drawn, -1 lost. */
    private int best(int mine, int theirs, int low, int high) {
        positions++;
        for (int line : lines) if ((theirs & line) == line) return -1;
        int free = all & ~(mine | theirs);
        if (free == 0) return 0;
        int found = -1;
        for (int rest = free; rest != 0; rest &= rest - 1) {
            int one = -best(theirs, mine | Integer.lowestOneBit(rest), -high, -low);
            if (one > found) found = one;
            if (paramPruning) {
                if (found > low) low = found;
                if (low >= high) break;
            }
        }
        return found;
    }

    @Override protected long checksum() { return paramPruning ? value : 1000000000L * value + positions; }
}

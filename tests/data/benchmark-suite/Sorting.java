import java.util.Arrays;
import java.util.Map;
import java.util.Random;

class Sized extends AbstractTest {
    private int paramSize = 1000;
    int size() { return paramSize; }
    @Override public long iteration() { return 0; }
}

public class Sorting extends Sized {
    protected boolean paramBroken;
    private int[] values;

    @Override public void init(Map<String, String> config) {
        values = new Random(1).ints(size()).toArray();
    }

    @Override public long iteration() {
        long count = 0;
        for (int repeat = 0; repeat < 10; repeat++) {
            int[] own = values.clone();
            Arrays.sort(own);
            if (paramBroken) own[0] = Integer.MAX_VALUE;
            validate("sorted", true, own[0] <= own[1]);
            count += own.length;
        }
        return count;
    }
}

import java.util.Arrays;
import java.util.Comparator;

/** The library's sorting of objects: boxed numbers, or strings by length and text. */
public final class SortObjects extends Workload {
    protected int paramSize = 20000;
    protected String paramType = "long";
    private Object[] values, sorted;

    @Override protected void prepare() {
        SplitMix random = new SplitMix(1);
        values = new Object[paramSize];
        if (!paramType.equals("long") && !paramType.equals("string")) throw noType(paramType);
        for (int place = 0; place < paramSize; place++) {
            long one = random.nextLong();
            values[place] = paramType.equals("long") ? (Object) one : Long.toString(one >> (one & 31), 36);
        }
    }

    @Override protected long payload() {
        sorted = values.clone();
        if (paramType.equals("long")) Arrays.sort(sorted);
        else Arrays.sort(sorted, Comparator.comparing((Object one) -> ((String) one).length()).thenComparing(one -> (String) one));
        return paramSize;
    }

    @Override protected long checksum() {
        long sum = 0;
        for (Object one : sorted) {
            if (one instanceof Long) sum = Fold.add(sum, (Long) one);
            else for (char letter : ((String) one).toCharArray()) sum = Fold.add(sum, letter);
        }
        return sum;
    }
}

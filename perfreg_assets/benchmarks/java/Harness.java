import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One launch of a benchmark: java Harness class=Name threads=2 warmup_s=1 measure_s=2 iterations_min=5 paramX=…
 *  Writes what it measured as JSON lines when it is over. Threads share one volatile array and no lock. */
public final class Harness {
    private static volatile boolean[] finished;
    private static volatile int failures;

    public static void main(String[] arguments) throws InterruptedException {
        Map<String, String> config = new LinkedHashMap<>();
        for (String one : arguments) config.put(one.substring(0, one.indexOf('=')), one.substring(one.indexOf('=') + 1));
        int count = Integer.parseInt(config.get("threads"));
        finished = new boolean[count];
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            int own = number;
            threads.add(new Thread(() -> run(own, config), "benchmark-" + number));
        }
        for (Thread one : threads) one.start();
        for (Thread one : threads) one.join();
        System.exit(failures > 0 ? 1 : 0);
    }

    private static void run(int number, Map<String, String> config) {
        List<long[]> warm = new ArrayList<>(), measured = new ArrayList<>();
        try {
            AbstractTest test = make(config);
            try {
                test.init(config);
                warmUp(test, Double.parseDouble(config.get("warmup_s")), warm);
                int least = Integer.parseInt(config.get("iterations_min"));
                long end = System.nanoTime() + (long) (Double.parseDouble(config.get("measure_s")) * 1e9);
                while (measured.size() < least || System.nanoTime() < end) measured.add(timed(test));
                tell(number);
                while (!haveAllMeasured()) test.iteration();
            } finally {
                test.done();
            }
            write(number, warm, measured, null);
        } catch (Throwable error) {
            tell(number);
            write(number, warm, measured, error);
        }
    }

    /** At least so long, and until two exponential means agree within 4 % for 40 iterations (of long ones: twice in a
     *  row), at most 8 s more. */
    private static void warmUp(AbstractTest test, double seconds, List<long[]> warm) throws Exception {
        long begin = System.nanoTime(), last = 0;
        double quick = 0, slow = 0;
        int agreed = 0;
        while (seconds > 0) {
            double passed = (System.nanoTime() - begin) / 1e9;
            if (passed >= seconds && (agreed >= 40 || passed >= seconds + 8)) return;
            long[] one = timed(test);
            warm.add(one);
            long elapsed = one[2];
            quick = last == 0 ? elapsed : quick + 0.1 * (elapsed - quick);
            slow = last == 0 ? elapsed : slow + 0.005 * (elapsed - slow);
            if (elapsed > 100_000_000L) agreed = last != 0 && Math.abs((double) elapsed / last - 1) <= 0.04 ? 40 : 0;
            else agreed = slow == 0 || Math.abs(quick / slow - 1) <= 0.04 ? agreed + 1 : 0;
            last = elapsed;
        }
    }

    private static long[] timed(AbstractTest test) throws Exception {
        long begin = System.nanoTime();
        long count = test.iteration();
        return new long[] {count, begin, System.nanoTime() - begin};
    }

    private static void tell(int number) {
        boolean[] told = finished;
        told[number] = true;
        finished = told; // written to the volatile field, so that the others see it
    }

    private static boolean haveAllMeasured() {
        for (boolean one : finished) if (!one) return false;
        return true;
    }

    private static AbstractTest make(Map<String, String> config) throws Exception {
        Class<?> type = Class.forName(config.get("class"));
        var constructor = type.getDeclaredConstructor();
        constructor.setAccessible(true);
        AbstractTest test = (AbstractTest) constructor.newInstance();
        test.isValidating = Boolean.parseBoolean(config.get("is_validating"));
        for (Map.Entry<String, String> one : config.entrySet())
            if (one.getKey().startsWith("param")) set(test, one.getKey(), one.getValue());
        return test;
    }

    private static void set(AbstractTest test, String name, String text) throws Exception {
        for (Class<?> type = test.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (!field.getName().equals(name)) continue;
                field.setAccessible(true);
                field.set(test, converted(name, text, field.getType()));
                return;
            }
        }
        throw new IllegalArgumentException(test.getClass().getName() + " has no field " + name);
    }

    private static Object converted(String name, String text, Class<?> type) {
        try {
            if (type == int.class || type == Integer.class) return Integer.valueOf(text);
            if (type == long.class || type == Long.class) return Long.valueOf(text);
            if (type == double.class || type == Double.class) return Double.valueOf(text);
            if (type == float.class || type == Float.class) return Float.valueOf(text);
            if (type == boolean.class || type == Boolean.class) return Boolean.valueOf(text);
            return text;
        } catch (NumberFormatException error) {
            throw new IllegalArgumentException(name + " = " + text + ": expected " + type.getSimpleName());
        }
    }

    private static synchronized void write(int number, List<long[]> warm, List<long[]> measured, Throwable error) {
        StringBuilder text = new StringBuilder();
        if (error == null) {
            lines(text, "warmup", number, warm);
            lines(text, "measure", number, measured);
            text.append("{\"phase\": \"conclude\", \"thread\": ").append(number).append("}\n");
        } else {
            failures++;
            text.append("{\"phase\": \"error\", \"thread\": ").append(number);
            if (error instanceof AbstractTest.ValidationException) {
                AbstractTest.ValidationException told = (AbstractTest.ValidationException) error;
                text.append(", \"kind\": \"validation\", \"test\": ").append(quoted(told.test));
                text.append(", \"expected\": ").append(quoted(told.expected)).append(", \"got\": ").append(quoted(told.got));
            }
            text.append(", \"message\": ").append(quoted(String.valueOf(error))).append("}\n");
        }
        System.out.print(text);
        System.out.flush();
    }

    private static void lines(StringBuilder text, String phase, int number, List<long[]> iterations) {
        for (int place = 0; place < iterations.size(); place++) {
            long[] one = iterations.get(place);
            text.append("{\"phase\": \"").append(phase).append("\", \"thread\": ").append(number);
            text.append(", \"iteration\": ").append(place).append(", \"count\": ").append(one[0]);
            text.append(", \"elapsed_ns\": ").append(one[2]).append(", \"at_ns\": ").append(one[1]).append("}\n");
        }
    }

    private static String quoted(String text) {
        StringBuilder made = new StringBuilder("\"");
        for (char one : text.toCharArray()) {
            if (one == '"' || one == '\\') made.append('\\').append(one);
            else if (one < ' ') made.append(String.format("\\u%04x", (int) one));
            else made.append(one);
        }
        return made.append('"').toString();
    }
}

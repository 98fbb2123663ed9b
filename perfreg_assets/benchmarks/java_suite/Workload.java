import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.util.Map;
import java.util.TreeMap;

/** A test of this suite: a payload that is repeated paramReps times per iteration, and a checksum of what it computed,
 *  which is compared with the line of paramGoldenfile where checking is on. */
abstract class Workload extends AbstractTest {
    protected int paramReps = 1;
    protected String paramGoldenfile = "";
    private String key, expected;

    /** Makes the input from the parameters. */
    protected void prepare() throws Exception {}

    /** Does the work once, and leaves what came out in fields; how many operations it was. */
    protected abstract long payload() throws Exception;

    /** Of what the last payload computed. Called only where checking is on. */
    protected abstract long checksum() throws Exception;

    @Override public final void init(Map<String, String> config) throws Exception {
        StringBuilder text = new StringBuilder(getClass().getName());
        for (Map.Entry<String, String> one : new TreeMap<>(config).entrySet())
            if (one.getKey().startsWith("param") && !one.getKey().equals("paramReps") && !one.getKey().equals("paramGoldenfile"))
                text.append(' ').append(one.getKey()).append('=').append(one.getValue());
        key = text.toString();
        if (isValidating) expected = golden();
        prepare();
    }

    @Override public final long iteration() throws Exception {
        long count = 0;
        for (int repeat = 0; repeat < paramReps; repeat++) {
            count += payload();
            if (isValidating) validate(key, expected, Long.toString(checksum()));
        }
        return count;
    }

    private String golden() throws Exception {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(new FileInputStream(paramGoldenfile), "UTF-8"))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine())
                if (line.startsWith(key + ": ")) return line.substring(key.length() + 2).trim();
        }
        throw new IllegalStateException(paramGoldenfile + " has no line for " + key);
    }

    /** The refusal of a type that a test does not know. */
    protected final IllegalArgumentException noType(String type) {
        return new IllegalArgumentException(getClass().getName() + " has no paramType " + type);
    }
}

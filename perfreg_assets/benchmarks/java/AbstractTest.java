import java.util.Map;

/** A benchmark: fields named param… (inherited ones too, of any visibility) are set from the suite before init. */
public abstract class AbstractTest {
    /** Whether iteration should check what it computed, and throw a ValidationException where it does not hold. */
    protected boolean isValidating;

    /** Prepares; config holds all that the suite says. */
    public void init(Map<String, String> config) throws Exception {}

    /** Does some operations; how many. */
    public abstract long iteration() throws Exception;

    /** Tidies up; called whatever happened before. */
    public void done() throws Exception {}

    /** What was computed is not what it should be. */
    public static final class ValidationException extends RuntimeException {
        final String test, expected, got;

        public ValidationException(String test, Object expected, Object got) {
            super(test + ": expected " + expected + ", got " + got);
            this.test = test;
            this.expected = String.valueOf(expected);
            this.got = String.valueOf(got);
        }
    }

    /** Checks a result, where checking is on. */
    protected final void validate(String test, Object expected, Object got) {
        if (isValidating && !expected.equals(got)) throw new ValidationException(test, expected, got);
    }
}

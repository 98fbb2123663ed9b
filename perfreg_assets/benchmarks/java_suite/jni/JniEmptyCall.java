/** Calls of a native method of the library that does next to nothing: Thread.holdsLock. */
public final class JniEmptyCall extends Workload {
    protected int paramCalls = 10000;
    protected boolean paramHeld = false;
    private final Object lock = new Object();
    private long held;

    @Override protected long payload() {
        held = 0;
        if (paramHeld) synchronized (lock) { call(); } else call();
        return paramCalls;
    }

    private void call() {
        for (int number = 0; number < paramCalls; number++) if (Thread.holdsLock(lock)) held++;
    }

    @Override protected long checksum() { return held; }
}

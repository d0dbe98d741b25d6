package peer;

/** What one repetition, or the sum of several, took and really did. */
record Result(long ns, long msgs, long units, long check) {
    static final Result NONE = new Result(0, 0, 0, 0);

    Result plus(Result other) {
        return new Result(ns + other.ns, msgs + other.msgs, units + other.units, check + other.check);
    }
}

package peer;

/** A prepared cell. */
interface Sample extends AutoCloseable {
    /** Does the scenario {@code inner} times. */
    Result run(long inner) throws Exception;

    /** What the answer to prep holds beside: fields of JSON, each after a comma. */
    default String told() {
        return "";
    }

    @Override
    void close();
}

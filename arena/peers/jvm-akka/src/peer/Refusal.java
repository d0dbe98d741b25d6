package peer;

/** An answer of kind unsupported, limit or bug. */
final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1;
    final String kind;

    Refusal(String kind, String message) {
        super(message);
        this.kind = kind;
    }
}

/** Thrown where a row lacks what its function needs. The message is public: it names the field and holds none of its text. */
export class BadSample extends Error {}

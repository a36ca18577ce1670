/** What a contract test needs of a test runner: tap's `t`, or `node:assert/strict` in any other runner. */
export type TestRunner = Ok &
  (
    | { strictSame(found: unknown, wanted: unknown, title: string): unknown }
    | { deepStrictEqual(found: unknown, wanted: unknown, title: string): unknown }
  )

interface Ok {
  ok(holds: unknown, title: string): unknown
}

/** Both runners in one form. */
export const same = (t: TestRunner, found: unknown, wanted: unknown, title: string): unknown =>
  'strictSame' in t ? t.strictSame(found, wanted, title) : t.deepStrictEqual(found, wanted, title)

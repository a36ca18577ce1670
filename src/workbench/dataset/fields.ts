/** What a row, or an object in it, holds by name. */
export type Fields = Readonly<Record<string, unknown>>

/** An object, but no list. */
export const isObject = (value: unknown): value is Fields =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

/** The value at a path such as `extra_info.answer`, of own fields; undefined where there is none. */
export const valueAt = (row: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
      row,
    )

/** JSON with the keys of every object in order, so that equal data give equal text. `textOf`: what stands for a text. */
export function canonicalJson(value: unknown, textOf?: (text: string) => string): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner === 'object' && inner !== null && !Array.isArray(inner))
      return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
    return textOf && typeof inner === 'string' ? textOf(inner) : inner
  })
}

let made = 0

/** An id in the manner of the server: unique in this process. */
export function madeId(prefix: string): string {
  made += 1
  return `${prefix}-${made.toString(16).padStart(12, '0')}`
}

/** Seconds since 1970, as `created` fields hold. */
export function createdNow(): number {
  return Math.floor(Date.now() / 1000)
}

/** A sandbox that runs programs on this machine. */
export interface CoreUser {
  /** Programs that it may run at once. */
  readonly size: number
  /** Starts a program that waits there. False: none waits, or it runs all that it may. */
  startNext(): boolean
}

/**
 * The cores of this machine. All local sandboxes of a gateway run together what the largest of them may: programs that share a
 * core would run out of their seconds by the clock through no fault of theirs.
 */
export class SharedCores {
  /** Whose turn it is comes first. */
  readonly #users = new Set<CoreUser>()
  #running = 0

  join(user: CoreUser): void {
    this.#users.add(user)
  }

  leave(user: CoreUser): void {
    this.#users.delete(user)
  }

  /** Takes a place for a program, if one is free. */
  take(): boolean {
    const size = Math.max(1, ...[...this.#users].map((user) => user.size))
    if (this.#running >= size) return false
    this.#running += 1
    return true
  }

  /** Gives a place back. Sandboxes whose programs wait take turns. */
  release(): void {
    this.#running -= 1
    for (const user of [...this.#users]) {
      if (!user.startNext()) continue
      this.#users.delete(user)
      this.#users.add(user)
      return
    }
  }
}

/** CPU milliseconds of this process so far, all threads: unlike the clock's, not the machine's other work. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

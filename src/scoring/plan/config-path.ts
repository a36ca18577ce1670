/** Keys and indices from the root on. */
export type ConfigPath = readonly (string | number)[]

/** `steps[2].weight` */
export function pathText(path: ConfigPath): string {
  return path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`
      const plain = /^[\w-]+$/.test(part)
      return plain ? `${index === 0 ? '' : '.'}${part}` : `[${JSON.stringify(part)}]`
    })
    .join('')
}

/** A row as most trainers send it: text for text, no messages and no prompts by step. */
export interface PlainRow {
  readonly id?: string | number
  readonly prompt?: string
  readonly response: string
  readonly ground_truth?: unknown
  readonly data_source?: string | null
  readonly group_id?: string | number | null
  readonly group_index?: number | null
  readonly group_size?: number | null
  readonly rm_prompt?: string | null
  readonly rm_prompts?: null
  readonly extra_info?: Readonly<Record<string, unknown>> | null
}

/**
 * True only for what `nativeSample` takes and would leave as it is: a schema makes an object and a list of issues for
 * each field, and that cost more than most rules. Of what is not plain, only the schema says whether it is right.
 */
export function isPlainRow(row: unknown): row is PlainRow {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return false
  const fields = row as Record<string, unknown>
  for (const key in fields) if (!isPlainField(key, fields[key])) return false
  return typeof fields.response === 'string'
}

function isPlainField(key: string, value: unknown): boolean {
  switch (key) {
    case 'response':
    case 'prompt':
      return typeof value === 'string'
    case 'id':
      return typeof value === 'string' || Number.isSafeInteger(value)
    case 'ground_truth':
      return true
    case 'data_source':
    case 'rm_prompt':
      return typeof value === 'string' || value === null
    case 'group_id':
      return typeof value === 'string' || value === null || Number.isSafeInteger(value)
    case 'group_index':
      return value === null || isWhole(value, 0)
    case 'group_size':
      return value === null || isWhole(value, 1)
    case 'rm_prompts':
      return value === null
    case 'extra_info':
      return value === null || isRecord(value)
    default:
      return false
  }
}

const isWhole = (value: unknown, least: number): boolean =>
  Number.isSafeInteger(value) && (value as number) >= least

/** True for what a schema of records takes and would leave as it is: it drops `__proto__`. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !Object.hasOwn(value, '__proto__')

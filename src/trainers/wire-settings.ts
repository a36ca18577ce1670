/** What gateway.yaml says of a wire; not every wire takes each setting. */
export interface WireSettings {
  readonly deadline_s?: number | undefined
  readonly on_invalid?: number | 'fail' | 'group_mean' | { readonly group_mean: number | null } | undefined
  /** An absolute path. */
  readonly ground_truth_file?: string | undefined
}

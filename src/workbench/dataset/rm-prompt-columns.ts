const column = /^rm_prompt_(\d{1,3})$/

/**
 * The judge prompts of a training row with the columns `rm_prompt` and `rm_prompt_<i>` as a sample's `rm_prompt` and
 * `rm_prompts`; `judges` are the reward's model steps in their order, from 0. Empty cells and further columns are left out.
 */
export function rmPromptColumns(
  row: Readonly<Record<string, unknown>>,
  judges: readonly string[],
): { readonly rm_prompt?: string; readonly rm_prompts?: Readonly<Record<string, string>> } {
  const prompts = Object.entries(row).flatMap(([key, value]) => {
    const index = column.exec(key)?.[1]
    const judge = index === undefined ? undefined : judges[Number(index)]
    return judge !== undefined && typeof value === 'string' ? [[judge, value] as const] : []
  })
  const { rm_prompt: shared } = row
  return {
    ...(typeof shared === 'string' && { rm_prompt: shared }),
    ...(prompts.length > 0 && { rm_prompts: Object.fromEntries(prompts) }),
  }
}

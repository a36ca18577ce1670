import type { ComponentChildren } from 'preact'

/** A column: its title, its classes, and whether the title is for screen readers only. */
type Column = string | readonly [title: string, look: string, isHidden?: boolean]

/** The head of a table. */
export function TableHead({ columns }: { readonly columns: readonly Column[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => {
          const [title, look, isHidden = false] = typeof column === 'string' ? [column, undefined] : column
          return (
            <th scope="col" class={look}>
              {isHidden ? <span class="hidden">{title}</span> : title}
            </th>
          )
        })}
      </tr>
    </thead>
  )
}

/** A scrollable box for a wide table; focusable, so that the keyboard can scroll it. */
export function Scroll({
  label,
  children,
}: {
  readonly label: string
  readonly children: ComponentChildren
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}

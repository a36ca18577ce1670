/** A column: its title, its classes, and whether only readers of the page aloud need the title. */
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

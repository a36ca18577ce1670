/** A column of a table; figures are set right. */
export interface Column {
  readonly title: string
  readonly right?: boolean
}

/** A table of a report. Cells are plain text, some of it from models and data sets: to be escaped by who shows it. */
export interface FigureTable {
  readonly title: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
}

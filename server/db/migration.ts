/** One step of the schema forward. `up` is plain SQL. A released migration is never changed. */
export interface Migration {
  readonly name: string
  readonly up: string
}

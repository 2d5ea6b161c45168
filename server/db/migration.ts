/** One step of the schema forward. `up` is plain SQL; a step that is released is never changed. */
export interface Migration {
  readonly name: string
  readonly up: string
}

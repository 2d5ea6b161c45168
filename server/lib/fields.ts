/** The members of a JSON object, before anybody has looked what they are. */
export type Fields = Readonly<Record<string, unknown>>

/** True for an object of JSON: neither null nor a list. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The members of an object; none of anything else. */
export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {})

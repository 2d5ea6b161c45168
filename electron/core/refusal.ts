/** A refusal that a person is to read: what, which rule, the way out. */
export class Refusal extends Error {
  readonly code: string

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'Refusal'
    this.code = code
  }
}

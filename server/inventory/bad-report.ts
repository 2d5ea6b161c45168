/** What a machine told of itself cannot be taken. The message is for people, without a full stop. */
export class BadReport extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'BadReport'
  }
}

/** The part of pg-copy-streams 7 that is used; it brings no types. */
declare module 'pg-copy-streams' {
  import type { Readable, Writable } from 'node:stream'
  import type { Submittable } from 'pg'

  const copyStreams: {
    /** `copy … to stdout` */
    to(text: string): Readable & Submittable & { readonly rowCount: number }
    /** `copy … from stdin` */
    from(text: string): Writable & Submittable & { readonly rowCount: number }
  }
  export default copyStreams
}

/** What tests use of packages that bring no types. */
declare module 'smtp-server' {
  import type { Server } from 'node:net'
  import type { Readable } from 'node:stream'

  export interface Session {
    readonly secure: boolean
    readonly user?: string | false
    readonly envelope: {
      readonly mailFrom: { readonly address: string }
      readonly rcptTo: readonly { readonly address: string }[]
    }
  }
  export interface Options {
    readonly secure?: boolean
    readonly key?: string
    readonly cert?: string
    readonly authOptional?: boolean
    readonly allowInsecureAuth?: boolean
    readonly disabledCommands?: readonly string[]
    readonly disableReverseLookup?: boolean
    readonly closeTimeout?: number
    onAuth?(
      auth: { readonly username: string; readonly password: string },
      session: Session,
      done: (error: Error | null, answer?: { readonly user: string }) => void,
    ): void
    onRcptTo?(address: { readonly address: string }, session: Session, done: (error?: Error) => void): void
    onData?(stream: Readable, session: Session, done: (error?: Error | null, message?: string) => void): void
  }
  export class SMTPServer {
    constructor(options: Options)
    readonly server: Server
    listen(port: number, host: string, ready: () => void): Server
    close(done: () => void): void
    on(event: 'error', listener: (error: Error) => void): this
  }
}

declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  export class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>)
    callback(): (req: IncomingMessage, res: ServerResponse) => void
    on(event: string, listener: (...args: unknown[]) => void): this
    proxy: boolean
  }
  export default Provider
}

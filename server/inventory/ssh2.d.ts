/** What is used of ssh2, which brings no types of its own. */
declare module 'ssh2' {
  import type { EventEmitter } from 'node:events'
  import type { Duplex } from 'node:stream'

  export interface ConnectConfig {
    readonly host: string
    readonly port: number
    readonly username: string
    readonly password?: string
    readonly privateKey?: string
    /** Until the login is done, in milliseconds. */
    readonly readyTimeout: number
    readonly algorithms?: { readonly serverHostKey?: readonly string[] }
    /** Gets the key as it is sent; false ends the connection before anything is sent. */
    readonly hostVerifier: (key: Buffer) => boolean
    readonly agentForward?: false
  }
  export interface SshError extends Error {
    readonly level?: 'client-authentication' | 'client-timeout' | 'client-socket' | 'handshake' | 'protocol'
    readonly code?: string
  }
  export interface ExecStream extends Duplex {
    readonly stderr: Duplex
  }
  export class Client extends EventEmitter {
    connect(config: ConnectConfig): this
    exec(command: string, told: (error: SshError | undefined, stream: ExecStream) => void): boolean
    end(): this
    destroy(): this
  }
  export const utils: {
    generateKeyPairSync(
      type: 'ed25519',
      options?: { readonly comment?: string },
    ): { readonly public: string; readonly private: string }
  }
}

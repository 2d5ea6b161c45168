import { AppError, ERRORS } from '../../core/errors.ts'
import type { RegistryAnswer, RegistryProtocol, RegistryRequest } from '../protocol.ts'

/** What a member of a group said. */
export interface MemberAnswer {
  /** It has nothing by this address; its failure is no such thing. */
  readonly isMissing: boolean
  /** What it answers. @throws what it was refused with */
  give(): RegistryAnswer | undefined
}

/** Asks a member. @throws what is no refusal by 404 */
export async function askMember(ask: RegistryProtocol['answer'], request: RegistryRequest): Promise<MemberAnswer> {
  try {
    const answer = await ask(request)
    return { isMissing: answer === undefined || answer.status === 404, give: () => answer }
  } catch (error) {
    if (!(error instanceof AppError) || ERRORS[error.code][0] !== 404) throw error
    return {
      isMissing: true,
      give: () => {
        throw error
      },
    }
  }
}

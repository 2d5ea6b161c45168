/** Why no advisories are asked about a component. Each sentence stands here alone. */
export const FOR_DEVELOPMENT = 'It is wanted for development only.'
export const OWN_PROJECT = 'It is a part of the project itself.'
export const NO_RELEASE = 'It comes from an address and names no release.'
export const ELSEWHERE = 'It does not come from the registry that advisories are about.'
export const NOT_RELEASED = "It is the program's own module, and was not built from a release."
export const FOR_BUILDING = 'It was needed for building only.'

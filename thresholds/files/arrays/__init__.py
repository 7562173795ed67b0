"""My data are in an .npz archive or an .npy file."""

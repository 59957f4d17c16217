"""HTTP clients behind one seam: wreq, and the portable one; an error table each."""
